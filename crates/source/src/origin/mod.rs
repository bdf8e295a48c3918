//! Files of older tools, whose years of history are taken over. A file a tool.

pub mod slurm_usage;
