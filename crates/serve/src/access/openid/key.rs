//! The keys of a provider (RFC 7517), and what they have signed.
//!
//! Two kinds of signatures are known, RS256 and ES256 (RFC 7518), and a key makes those of its own
//! kind alone: a token cannot choose how it is verified.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::Deserialize;

/// A public key.
#[derive(Clone, Debug)]
pub(super) struct Key {
    id: Option<String>,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Rsa {
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
    /// On the curve P-256, as a point that is not compressed.
    EllipticCurve {
        point: Vec<u8>,
    },
}

impl Key {
    /// Whether it is the one that a token names, and makes such signatures.
    pub(super) fn is_meant(&self, id: Option<&str>, algorithm: &str) -> bool {
        let makes = match self.kind {
            Kind::Rsa { .. } => "RS256",
            Kind::EllipticCurve { .. } => "ES256",
        };
        makes == algorithm && id.is_none_or(|id| self.id.as_deref() == Some(id))
    }

    pub(super) fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        match &self.kind {
            Kind::Rsa { modulus, exponent } => RsaPublicKeyComponents { n: modulus, e: exponent }
                .verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
                .is_ok(),
            Kind::EllipticCurve { point } => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point)
                    .verify(message, signature)
                    .is_ok()
            }
        }
    }
}

/// The keys of a set with which tokens can be verified; those of other kinds are left out.
pub(super) fn keys(set: &[u8]) -> Result<Vec<Key>, String> {
    let set: Set =
        serde_json::from_slice(set).map_err(|error| format!("no set of keys: {error}"))?;
    Ok(set.keys.into_iter().filter_map(key).collect())
}

#[derive(Deserialize)]
struct Set {
    keys: Vec<Written>,
}

/// A key as it is written. One of another kind has other members.
#[derive(Deserialize)]
struct Written {
    kid: Option<String>,
    kty: String,
    r#use: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

fn key(written: Written) -> Option<Key> {
    if written.r#use.is_some_and(|purpose| purpose != "sig") {
        return None;
    }
    let kind = match (written.kty.as_str(), written.crv.as_deref()) {
        ("RSA", _) => Kind::Rsa { modulus: decoded(&written.n?)?, exponent: decoded(&written.e?)? },
        ("EC", Some("P-256")) => {
            let point = [vec![4], decoded(&written.x?)?, decoded(&written.y?)?].concat();
            Kind::EllipticCurve { point }
        }
        _ => return None,
    };
    Some(Key { id: written.kid, kind })
}

/// Bytes as RFC 7515 writes them.
pub(super) fn decoded(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

pub(super) fn encoded(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7515, A.2.
    #[test]
    fn the_signature_of_the_standards_example_holds() {
        let set = r#"{"keys": [
            {"kty": "oct", "k": "AyM1"},
            {"kty": "RSA", "use": "enc", "n": "0vx7", "e": "AQAB"},
            {"kty": "RSA", "kid": "a2", "e": "AQAB", "n": "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"}
        ]}"#;
        let keys = keys(set.as_bytes()).unwrap();
        let [key] = &keys[..] else { panic!("{keys:?}") };
        let message = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
        let signature = decoded("cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw").unwrap();
        assert!(key.is_meant(Some("a2"), "RS256") && key.is_meant(None, "RS256"));
        assert!(!key.is_meant(Some("a2"), "ES256") && !key.is_meant(Some("b"), "RS256"));
        assert!(key.has_signed(message.as_bytes(), &signature));
        assert!(!key.has_signed(&message.as_bytes()[1..], &signature));
    }
}
