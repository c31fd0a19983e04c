"""Models of tasks as ONNX folders."""
