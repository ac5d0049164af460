"""Running a pipeline: arguments, devices, the call, outputs, and what is left behind."""
