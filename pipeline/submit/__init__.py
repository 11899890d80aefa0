"""The outgoing half: rules, evidence gate, attempts at the PUT, retries and the gateway."""
