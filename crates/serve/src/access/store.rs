//! What is kept of users and tokens: files that only our user may read, a line each, and in them
//! nothing that would let a reader become one of them.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use argon2::password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString};
use argon2::{Argon2, Params};
use jiff::Timestamp;
use query::Secret;
use ring::digest;
use ring::rand::{SecureRandom, SystemRandom};

/// The folder of users and tokens.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

/// What a token lets a program see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everything.
    Staff,
    /// What the user sees whose name it has.
    Own,
    /// What everybody sees.
    Public,
    /// The metrics, and nothing else.
    Metrics,
}

impl Scope {
    pub const ALL: [Scope; 4] = [Scope::Staff, Scope::Own, Scope::Public, Scope::Metrics];

    pub fn name(self) -> &'static str {
        match self {
            Scope::Staff => "staff",
            Scope::Own => "self",
            Scope::Public => "public",
            Scope::Metrics => "metrics",
        }
    }

    pub fn by_name(name: &str) -> Option<Scope> {
        Scope::ALL.into_iter().find(|scope| scope.name() == name)
    }
}

/// The hash of a user's password with its salt. A new one is made with each new password.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PasswordRecord(String);

/// Before what is random in a token, so that it is known for what it is wherever it turns up.
const TOKEN: &str = "plimsoll_";

impl Store {
    /// The folder, made if there is none.
    pub fn create(folder: &Path) -> Result<Store> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Store { folder: folder.to_owned() })
    }

    /// Adds a user, or gives one that is there another password.
    pub fn set_user(&self, name: &str, password: &str) -> Result<()> {
        check_name(name)?;
        if password.chars().count() < SHORTEST_PASSWORD {
            bail!("the password has fewer than {SHORTEST_PASSWORD} characters");
        }
        let salt = SaltString::encode_b64(&random_bytes::<16>()?)
            .map_err(|error| anyhow::anyhow!("cannot make a salt: {error}"))?;
        let hash = Argon2::default()
            .hash_password(password.as_bytes(), &salt)
            .map_err(|error| anyhow::anyhow!("cannot hash the password: {error}"))?;
        self.replace(USERS, name, Some(&format!("{name}:{hash}")))?;
        Ok(())
    }

    /// Whether there was such a user.
    pub fn remove_user(&self, name: &str) -> Result<bool> {
        self.replace(USERS, name, None)
    }

    /// The record of a user's password.
    pub(super) fn password_record(&self, name: &str) -> Result<Option<PasswordRecord>> {
        Ok(self.value(USERS, name)?.map(PasswordRecord))
    }

    /// The record of the password if it is that user's. It takes as long where there is no such user.
    pub(super) fn check_password(
        &self,
        name: &str,
        password: &str,
    ) -> Result<Option<PasswordRecord>> {
        let record = self.password_record(name)?;
        let nobodys = nobodys_hash();
        let hash = record.as_ref().map_or(nobodys.as_str(), |PasswordRecord(hash)| hash);
        let hash = PasswordHash::new(hash)
            .map_err(|error| anyhow::anyhow!("cannot read the password of {name:?}: {error}"))?;
        let is_right = Argon2::default().verify_password(password.as_bytes(), &hash).is_ok();
        Ok(record.filter(|_| is_right))
    }

    /// Ends all sessions of a user that began until now, however the user logged in.
    pub fn log_out(&self, name: &str, now: Timestamp) -> Result<()> {
        check_name(name)?;
        self.replace(LOGOUTS, name, Some(&format!("{name}:{now}")))?;
        Ok(())
    }

    /// When the sessions of a user were last ended.
    pub(super) fn logout_time(&self, name: &str) -> Result<Option<Timestamp>> {
        let Some(text) = self.value(LOGOUTS, name)? else { return Ok(None) };
        let path = self.folder.join(LOGOUTS);
        let time =
            text.parse().with_context(|| format!("{} has no time of {name}", path.display()))?;
        Ok(Some(time))
    }

    /// The rest of the line of a name.
    fn value(&self, file: &str, name: &str) -> Result<Option<String>> {
        let is_of_name = |line: &String| {
            line.split_once(':')
                .filter(|(given, _)| *given == name)
                .map(|(_, value)| value.to_owned())
        };
        Ok(self.lines(file)?.iter().find_map(is_of_name))
    }

    /// A new token, which is said once and never again.
    pub fn add_token(&self, name: &str, scope: Scope) -> Result<String> {
        check_name(name)?;
        let token = format!("{TOKEN}{}", random()?);
        let line = format!("{name}:{}:{}\n", scope.name(), hash(&token));
        let path = self.folder.join(TOKENS);
        let _lock = self.lock()?;
        for_us_alone(&path)?
            .write_all(line.as_bytes())
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(token)
    }

    /// Whether there were tokens of that name.
    pub fn remove_tokens(&self, name: &str) -> Result<bool> {
        self.replace(TOKENS, name, None)
    }

    /// Whose token it is, and what it lets one see. What is compared are hashes: the time that it
    /// takes tells nothing of the token.
    pub(super) fn token(&self, token: &str) -> Result<Option<(String, Scope)>> {
        let wanted = hash(token);
        Ok(self.lines(TOKENS)?.iter().find_map(|line| {
            let mut parts = line.split(':');
            let (name, scope, kept) = (parts.next()?, parts.next()?, parts.next()?);
            (kept == wanted).then_some((name.to_owned(), Scope::by_name(scope)?))
        }))
    }

    /// The secret that pseudonyms are made with. The first call makes it up, so that they stay the same.
    pub fn secret(&self) -> Result<Secret> {
        let path = self.folder.join("secret");
        if !path.exists() {
            let _lock = self.lock()?;
            if !path.exists() {
                self.write("secret", &random()?)?;
            }
        }
        let text = ours(&path)?;
        let secret = text.trim().as_bytes();
        if secret.len() < SHORTEST_SECRET {
            bail!(
                "{} has {} bytes, and {SHORTEST_SECRET} are required: restore it from a backup, or remove it, \
                 which changes all pseudonyms",
                path.display(),
                secret.len()
            );
        }
        Ok(Secret::new(secret))
    }

    /// Keeps other processes from changing the files at the same time, until it is dropped.
    fn lock(&self) -> Result<File> {
        let path = self.folder.join("lock");
        let file = for_us_alone(&path)?;
        file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
        Ok(file)
    }

    /// Writes a file whole or not at all, also if the machine stops meanwhile.
    fn write(&self, file: &str, text: &str) -> Result<()> {
        let (path, unfinished) =
            (self.folder.join(file), self.folder.join(format!("{file}.unfinished")));
        fs::remove_file(&unfinished).or_else(absent_is_fine)?;
        let mut written = for_us_alone(&unfinished)?;
        written
            .write_all(text.as_bytes())
            .and_then(|()| written.sync_all())
            .and_then(|()| fs::rename(&unfinished, &path))
            .and_then(|()| File::open(&self.folder)?.sync_all())
            .with_context(|| format!("cannot write {}", path.display()))
    }

    /// Whether all that is kept can be used.
    pub(super) fn check(&self) -> Result<()> {
        self.lines(USERS).and(self.lines(TOKENS)).and(self.lines(LOGOUTS)).map(|_| ())
    }

    pub(super) fn log_path(&self) -> PathBuf {
        self.folder.join("requests.log")
    }

    fn lines(&self, file: &str) -> Result<Vec<String>> {
        let path = self.folder.join(file);
        if !path.exists() {
            return Ok(Vec::new());
        }
        Ok(ours(&path)?.lines().map(str::to_owned).collect())
    }

    /// Takes the lines of a name out of a file and puts one in; whether there were any.
    fn replace(&self, file: &str, name: &str, line: Option<&str>) -> Result<bool> {
        let _lock = self.lock()?;
        let mut lines = self.lines(file)?;
        let before = lines.len();
        lines.retain(|line| line.split(':').next() != Some(name));
        let was_there = lines.len() < before;
        lines.extend(line.map(str::to_owned));
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        self.write(file, &text)?;
        Ok(was_there)
    }
}

const USERS: &str = "users";
const TOKENS: &str = "tokens";
/// When the sessions of a user were last ended.
const LOGOUTS: &str = "logouts";
/// Shorter ones can be guessed.
const SHORTEST_SECRET: usize = 32;
/// NIST SP 800-63B-4 has no fewer.
const SHORTEST_PASSWORD: usize = 15;

/// A file to add to, that nobody else may read.
pub(super) fn for_us_alone(path: &Path) -> Result<File> {
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
    let file = file.with_context(|| format!("cannot write {}", path.display()))?;
    check_mode(path, &file)?;
    Ok(file)
}

/// The text of a file that nobody else may read.
fn ours(path: &Path) -> Result<String> {
    let cannot = || format!("cannot read {}", path.display());
    let mut file = File::open(path).with_context(cannot)?;
    check_mode(path, &file)?;
    let mut text = String::new();
    file.read_to_string(&mut text).with_context(cannot)?;
    Ok(text)
}

/// A file may have been made or copied by hand.
fn check_mode(path: &Path, file: &File) -> Result<()> {
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        bail!("{} can be read by others: chmod 600 it", path.display());
    }
    Ok(())
}

fn absent_is_fine(error: std::io::Error) -> std::io::Result<()> {
    if error.kind() == std::io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// Whether somebody may be called so: no line, no field, and nothing that a page or a log would
/// read as something else.
pub(super) fn is_name(name: &str) -> bool {
    let fits = |letter: char| letter.is_alphanumeric() || "._-@+".contains(letter);
    (1..=128).contains(&name.len()) && name.chars().all(fits)
}

fn check_name(name: &str) -> Result<()> {
    if !is_name(name) {
        bail!("{name:?} cannot be a name: use letters, digits and . _ - @ +");
    }
    Ok(())
}

/// 256 bits that nobody can guess.
pub(super) fn random() -> Result<String> {
    Ok(hexadecimal(&random_bytes::<32>()?))
}

fn random_bytes<const LENGTH: usize>() -> Result<[u8; LENGTH]> {
    let mut bytes = [0; LENGTH];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| anyhow::anyhow!("this machine has no random numbers"))?;
    Ok(bytes)
}

/// SHA-256: enough for what is random and long, as tokens are and passwords are not.
pub(super) fn hash(text: &str) -> String {
    hexadecimal(digest::digest(&digest::SHA256, text.as_bytes()).as_ref())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A hash as costly as that of a user, which no password has.
fn nobodys_hash() -> String {
    let (memory, passes, lanes) =
        (Params::DEFAULT_M_COST, Params::DEFAULT_T_COST, Params::DEFAULT_P_COST);
    let (salt, hash) = ("A".repeat(22), "A".repeat(43));
    format!("$argon2id$v=19$m={memory},t={passes},p={lanes}${salt}${hash}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(&folder.path().join("access")).unwrap();
        (folder, store)
    }

    #[test]
    fn a_password_is_the_users_own_and_is_kept_nowhere() {
        let (_folder, store) = store();
        store.set_user("ann", "correct horse battery").unwrap();
        store.set_user("bob", "another long password").unwrap();
        let is =
            |name: &str, password: &str| store.check_password(name, password).unwrap().is_some();
        assert!(is("ann", "correct horse battery"));
        assert!(!is("ann", "another long password"));
        assert!(!is("carl", "correct horse battery"));
        assert!(!is("", ""));
        let kept = store.lines(USERS).unwrap().join("\n");
        assert!(kept.contains("ann:$argon2id$v=19$") && !kept.contains("horse"), "{kept}");
        store.set_user("ann", "a new and long password").unwrap();
        assert!(!is("ann", "correct horse battery") && is("ann", "a new and long password"));
        assert!(store.remove_user("ann").unwrap());
        assert!(!is("ann", "a new and long password") && is("bob", "another long password"));
    }

    #[test]
    fn a_token_is_known_by_its_hash() {
        let (_folder, store) = store();
        let token = store.add_token("grafana", Scope::Public).unwrap();
        let other = store.add_token("ann", Scope::Own).unwrap();
        assert_eq!(store.token(&token).unwrap(), Some(("grafana".into(), Scope::Public)));
        assert_eq!(store.token(&other).unwrap(), Some(("ann".into(), Scope::Own)));
        for wrong in ["", "plimsoll_", &token[1..], &hash(&token)] {
            assert_eq!(store.token(wrong).unwrap(), None, "{wrong}");
        }
        assert!(!store.lines(TOKENS).unwrap().join("\n").contains(&token));
        assert!(store.remove_tokens("grafana").unwrap());
        assert_eq!(store.token(&token).unwrap(), None);
        assert!(store.token(&other).unwrap().is_some());
    }

    #[test]
    fn files_are_for_us_alone() {
        let (_folder, store) = store();
        store.set_user("ann", "correct horse battery").unwrap();
        store.add_token("ann", Scope::Own).unwrap();
        store.secret().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&store.folder), 0o700);
        for file in [USERS, TOKENS, "secret"] {
            assert_eq!(mode(&store.folder.join(file)), 0o600, "{file}");
        }
        let path = store.folder.join("open");
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(for_us_alone(&path).is_err());
    }

    #[test]
    fn a_short_secret_is_refused() {
        let (_folder, store) = store();
        store.secret().unwrap();
        for text in ["", "\n", "0123456789abcdef0123456789abcde"] {
            fs::write(store.folder.join("secret"), text).unwrap();
            let Err(error) = store.secret() else { panic!("{text:?} is accepted") };
            assert!(error.to_string().contains("32 are required"), "{error}");
        }
    }

    #[test]
    fn users_that_are_added_at_the_same_time_are_all_there() {
        let (_folder, store) = store();
        let add =
            |number| store.replace(USERS, &format!("u{number}"), Some(&format!("u{number}:x")));
        std::thread::scope(|scope| {
            for number in 0..32 {
                scope.spawn(move || add(number).unwrap());
            }
        });
        assert_eq!(store.lines(USERS).unwrap().len(), 32);
    }

    #[test]
    fn what_cannot_be_a_name_is_refused() {
        let (_folder, store) = store();
        for name in ["", "a:b", "a\nb", "<script>", "a b", &"a".repeat(129)] {
            assert!(store.set_user(name, "correct horse battery").is_err(), "{name:?}");
            assert!(store.add_token(name, Scope::Staff).is_err(), "{name:?}");
        }
        assert!(is_name("jane.doe@example.org") && is_name("müller"));
        assert!(store.set_user("ann", "too short").is_err());
    }
}
