"""`prazo follow` that takes each entry as it comes. By itself it gathers those that come one by one
for seconds, while somebody reads; it stays the program that was started.
"""

from pipeline import memory
from pipeline.cli.group import main
from pipeline.continuity import follower

FOLLOWER = __file__

if __name__ == "__main__":
    follower.GATHER_SECONDS = 0.1  # type: ignore[misc]
    memory.keeps_freed = lambda: True
    main(["follow"])
