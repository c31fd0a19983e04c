"""Options of the commands: how values are read, and what a wrong name is answered with."""
