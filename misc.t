/opt/v/torch/bin/python: can't open file '/work/main/misc.py': [Errno 2] No such file or directory
