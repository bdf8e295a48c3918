//! Whether an ID token is one: OpenID Connect Core 1.0, 3.1.3.7.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::key::{Key, decoded};

/// What a token must say.
pub(super) struct Expected<'a> {
    pub(super) issuer: &'a str,
    pub(super) client_id: &'a str,
    pub(super) nonce: &'a str,
    pub(super) now: Timestamp,
}

/// Why a token does not count.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("the ID token cannot be read")]
    Unreadable,
    #[error("the ID token is signed by {0:?}, and only RS256 and ES256 count")]
    Algorithm(String),
    #[error("no key of the provider is the one that the ID token names")]
    UnknownKey,
    #[error("the signature of the ID token does not hold")]
    Signature,
    #[error("the ID token is not for us, or not of this provider or login: {0}")]
    Claim(&'static str),
    #[error("the ID token is over, or not yet begun; are the clocks right?")]
    Time,
}

/// What clocks may differ by.
const LEEWAY_SECONDS: i64 = 60;

/// What a token says, if all of it holds.
pub(super) fn verify(
    token: &str,
    keys: &[Key],
    expected: &Expected<'_>,
) -> Result<Map<String, Value>, Refusal> {
    let (message, signature) = token.rsplit_once('.').ok_or(Refusal::Unreadable)?;
    let (header, claims) = message.split_once('.').ok_or(Refusal::Unreadable)?;
    let header = object(header)?;
    let algorithm = text(&header, "alg").unwrap_or_default();
    if !["RS256", "ES256"].contains(&algorithm) {
        return Err(Refusal::Algorithm(algorithm.to_owned()));
    }
    // What must be understood and is not known to us.
    if header.contains_key("crit") {
        return Err(Refusal::Unreadable);
    }
    let signature = decoded(signature).ok_or(Refusal::Unreadable)?;
    let mut meant = keys.iter().filter(|key| key.is_meant(text(&header, "kid"), algorithm));
    let first = meant.next().ok_or(Refusal::UnknownKey)?;
    let mut meant = std::iter::once(first).chain(meant);
    if !meant.any(|key| key.has_signed(message.as_bytes(), &signature)) {
        return Err(Refusal::Signature);
    }
    let claims = object(claims)?;
    check(&claims, expected)?;
    Ok(claims)
}

fn check(claims: &Map<String, Value>, expected: &Expected<'_>) -> Result<(), Refusal> {
    if text(claims, "iss") != Some(expected.issuer) {
        return Err(Refusal::Claim("iss"));
    }
    let audiences: Vec<&str> = match claims.get("aud") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !audiences.contains(&expected.client_id) {
        return Err(Refusal::Claim("aud"));
    }
    // One that is for several names who it was given to.
    let party = text(claims, "azp");
    if (audiences.len() > 1 || party.is_some()) && party != Some(expected.client_id) {
        return Err(Refusal::Claim("azp"));
    }
    if text(claims, "nonce") != Some(expected.nonce) {
        return Err(Refusal::Claim("nonce"));
    }
    let now = expected.now.as_second();
    let second = |name: &str| claims.get(name).and_then(Value::as_f64).map(|time| time as i64);
    let ends = second("exp").ok_or(Refusal::Claim("exp"))?;
    let begins = second("iat").ok_or(Refusal::Claim("iat"))?;
    let not_before = second("nbf").unwrap_or(begins);
    if ends + LEEWAY_SECONDS <= now || begins.max(not_before) - LEEWAY_SECONDS > now {
        return Err(Refusal::Time);
    }
    Ok(())
}

fn object(part: &str) -> Result<Map<String, Value>, Refusal> {
    let bytes = decoded(part).ok_or(Refusal::Unreadable)?;
    serde_json::from_slice(&bytes).map_err(|_| Refusal::Unreadable)
}

fn text<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    object.get(name)?.as_str()
}

#[cfg(test)]
mod tests {
    use ring::rand::SystemRandom;
    use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
    use serde_json::json;

    use super::super::key::{encoded, keys};
    use super::*;

    const NOW: i64 = 1_700_000_000;

    /// A provider's key, and the set in which it is published as `one`.
    fn provider() -> (EcdsaKeyPair, Vec<Key>) {
        let (kind, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let secret = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(kind, secret.as_ref(), &random).unwrap();
        let point = &pair.public_key().as_ref()[1..];
        let set = json!({ "keys": [{
            "kty": "EC", "crv": "P-256", "kid": "one",
            "x": encoded(&point[..32]), "y": encoded(&point[32..]),
        }]});
        (pair, keys(set.to_string().as_bytes()).unwrap())
    }

    fn signed(pair: &EcdsaKeyPair, header: &Value, claims: &Value) -> String {
        let part = |value: &Value| encoded(value.to_string().as_bytes());
        let message = format!("{}.{}", part(header), part(claims));
        let signature = pair.sign(&SystemRandom::new(), message.as_bytes()).unwrap();
        format!("{message}.{}", encoded(signature.as_ref()))
    }

    /// Who is named by a token that differs from a right one in this of its header and claims.
    fn check(header: &Value, claims: &Value, expected: Result<&str, Refusal>) {
        let (pair, keys) = provider();
        let with = |whole: Value, other: &Value| {
            let Value::Object(mut whole) = whole else { unreachable!() };
            whole.extend(other.as_object().unwrap().clone());
            whole.retain(|_, value| !value.is_null());
            Value::Object(whole)
        };
        let right_header = json!({ "alg": "ES256", "kid": "one" });
        let right_claims = json!({
            "iss": "https://sso.example.org", "aud": "plimsoll", "sub": "ann", "nonce": "n1",
            "iat": NOW - 5, "exp": NOW + 300,
        });
        let token = signed(&pair, &with(right_header, header), &with(right_claims, claims));
        let read = verify(&token, &keys, &wanted());
        let name = read.map(|claims| text(&claims, "sub").unwrap().to_owned());
        assert_eq!(
            name.as_deref().map_err(ToString::to_string),
            expected.map_err(|it| it.to_string())
        );
    }

    fn wanted() -> Expected<'static> {
        Expected {
            issuer: "https://sso.example.org",
            client_id: "plimsoll",
            nonce: "n1",
            now: Timestamp::from_second(NOW).unwrap(),
        }
    }

    #[test]
    fn a_right_token_says_who_somebody_is() {
        check(&json!({}), &json!({}), Ok("ann"));
        check(&json!({ "kid": null }), &json!({}), Ok("ann"));
        check(&json!({}), &json!({ "aud": ["x", "plimsoll"], "azp": "plimsoll" }), Ok("ann"));
        check(&json!({}), &json!({ "exp": NOW - 59 }), Ok("ann"));
    }

    #[test]
    fn a_token_of_or_for_somebody_else_does_not_count() {
        check(&json!({}), &json!({ "iss": "https://evil.example" }), Err(Refusal::Claim("iss")));
        check(&json!({}), &json!({ "iss": null }), Err(Refusal::Claim("iss")));
        check(&json!({}), &json!({ "aud": "another" }), Err(Refusal::Claim("aud")));
        check(&json!({}), &json!({ "aud": ["x", "plimsoll"] }), Err(Refusal::Claim("azp")));
        check(&json!({}), &json!({ "azp": "another" }), Err(Refusal::Claim("azp")));
        check(&json!({}), &json!({ "nonce": "n2" }), Err(Refusal::Claim("nonce")));
        check(&json!({}), &json!({ "nonce": null }), Err(Refusal::Claim("nonce")));
    }

    #[test]
    fn a_token_that_is_over_does_not_count() {
        check(&json!({}), &json!({ "exp": NOW - 60 }), Err(Refusal::Time));
        check(&json!({}), &json!({ "iat": NOW + 61 }), Err(Refusal::Time));
        check(&json!({}), &json!({ "nbf": NOW + 61 }), Err(Refusal::Time));
        check(&json!({}), &json!({ "exp": null }), Err(Refusal::Claim("exp")));
        check(&json!({}), &json!({ "exp": "soon" }), Err(Refusal::Claim("exp")));
    }

    #[test]
    fn a_token_does_not_choose_how_it_is_verified() {
        check(&json!({ "alg": "none" }), &json!({}), Err(Refusal::Algorithm("none".into())));
        check(&json!({ "alg": "HS256" }), &json!({}), Err(Refusal::Algorithm("HS256".into())));
        check(&json!({ "alg": null }), &json!({}), Err(Refusal::Algorithm(String::new())));
        check(&json!({ "alg": "RS256" }), &json!({}), Err(Refusal::UnknownKey));
        check(&json!({ "kid": "two" }), &json!({}), Err(Refusal::UnknownKey));
        check(&json!({ "crit": ["b64"] }), &json!({}), Err(Refusal::Unreadable));
    }

    #[test]
    fn a_signature_is_of_the_whole_token_and_by_the_providers_key() {
        let ((pair, keys), (other, _)) = (provider(), provider());
        let header = json!({ "alg": "ES256", "kid": "one" });
        let claims = json!({ "iss": "https://sso.example.org", "sub": "ann" });
        let stranger = signed(&other, &header, &claims);
        assert_eq!(verify(&stranger, &keys, &wanted()).unwrap_err(), Refusal::Signature);
        let token = signed(&pair, &header, &claims);
        let parts: Vec<&str> = token.split('.').collect();
        let changed = encoded(json!({ "sub": "bob" }).to_string().as_bytes());
        let changed = format!("{}.{changed}.{}", parts[0], parts[2]);
        assert_eq!(verify(&changed, &keys, &wanted()).unwrap_err(), Refusal::Signature);
        for unreadable in ["", "a", "a.b", "a.b.c", &format!("{}.{}.", parts[0], parts[1])] {
            assert!(verify(unreadable, &keys, &wanted()).is_err(), "{unreadable:?}");
        }
    }
}
