"""Networks that answer without Python: ONNX files."""
