//! Turns on features of dependencies; see `Cargo.toml`. There is no code here.
