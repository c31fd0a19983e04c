"""One encoder with several tasks in one folder: what each task changes of it lies in `tasks/NAME/`."""
