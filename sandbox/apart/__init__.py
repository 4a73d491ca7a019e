"""Runs tests apart from the program in languages other than Python, with stand-ins for its functions.

A declaration, which the dataset provides, names the function that the program must define. The tests are
compiled with a stand-in for this function, which sends its arguments to the program's process and returns the
answer. The program is compiled with a loop that answers these calls. A program cannot affect an assertion by
its definitions, its output or its exit status. Expected values never enter the program's process.
`sandbox/jail/checks.py` does the same for Python.
"""
