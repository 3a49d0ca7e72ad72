"""Models to take along: a small checkpoint, and two wings, folders for transformers and for ONNX."""
