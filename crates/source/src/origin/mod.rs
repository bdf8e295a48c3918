//! Files of older tools, whose years of history are taken over. A file or a folder a tool.

pub mod gpureports;
pub mod slurm_usage;
