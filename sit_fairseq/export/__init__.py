"""Models that leave Python: ONNX files, and folders to upload."""
