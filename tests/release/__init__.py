"""What a release is tried by: `make release-check`."""
