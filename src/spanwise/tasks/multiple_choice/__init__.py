"""Multiple choice: which of the endings, answers or causes fits best?"""
