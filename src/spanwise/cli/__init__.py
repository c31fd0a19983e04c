"""The command line: one file a command. The only code that parses argv, prints answers and maps errors to statuses."""
