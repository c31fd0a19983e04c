"""`spanwise ask`: the command, and how its answers are shown."""
