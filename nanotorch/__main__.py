"""`python -m nanotorch script.py`: run a program written for PyTorch."""

import sys

from nanotorch.program.running import main

if __name__ == "__main__":
    main(sys.argv[1:])
