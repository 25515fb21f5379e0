"""A server on another machine, asked over HTTP instead of a store on this one."""
