//! Addresses that belong together: `10.0.0.0/8`, or one by itself.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// The addresses that begin with the same bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u32,
}

impl Network {
    pub fn contains(&self, address: IpAddr) -> bool {
        // What comes by a socket of both kinds is written as the longer one.
        let (network, width) = number(self.address);
        let (address, of) = number(address.to_canonical());
        let shift = width - self.bits;
        width == of && (shift == 128 || network >> shift == address >> shift)
    }
}

/// An address as a number, and how many bits it has.
fn number(address: IpAddr) -> (u128, u32) {
    match address {
        IpAddr::V4(address) => (u128::from(u32::from(address)), 32),
        IpAddr::V6(address) => (u128::from(address), Ipv6Addr::BITS),
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Network, String> {
        let wrong = || format!("{text:?} is no address such as 10.1.2.3 or 10.0.0.0/8");
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u32>().map_err(|_| wrong())?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let (_, width) = number(address);
        let bits = bits.unwrap_or(width);
        if bits > width { Err(wrong()) } else { Ok(Network { address, bits }) }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.address, self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(network: &str, address: &str, expected: bool) {
        let network: Network = network.parse().unwrap();
        assert_eq!(network.contains(address.parse().unwrap()), expected, "{network} {address}");
    }

    #[test]
    fn a_network_is_the_addresses_that_begin_alike() {
        check("10.0.0.0/8", "10.255.0.1", true);
        check("10.0.0.0/8", "11.0.0.1", false);
        check("10.1.2.3", "10.1.2.3", true);
        check("10.1.2.3", "10.1.2.4", false);
        check("0.0.0.0/0", "8.8.8.8", true);
        check("0.0.0.0/0", "::1", false);
        check("::/0", "2001:db8::1", true);
        check("2001:db8::/32", "2001:db8:1::1", true);
        check("127.0.0.1", "::ffff:127.0.0.1", true);
    }

    #[test]
    fn what_is_no_network_is_said() {
        for text in ["", "10.0.0", "10.0.0.0/33", "::/129", "10.0.0.0/-1", "host"] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }
}
