"""Models as ONNX files: padded graphs of our encoders and heads, checked by onnxruntime against what we compute."""
