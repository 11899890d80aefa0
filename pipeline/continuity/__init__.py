"""One log, whatever becomes of the stores that hold it: following, forks, recovery, backups."""
