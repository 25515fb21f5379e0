"""Vector stores: where a call's overflow can be searched, hosted by the provider or in this process."""
