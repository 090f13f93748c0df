//! [`SpillDirectory`]: spilled texts as files that nobody else can read.

use std::collections::hash_map::RandomState;
use std::fmt::Write as _;
use std::fs::{self, DirBuilder, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use futures_util::future::BoxFuture;
use sha2::{Digest, Sha256};

use super::{SpillStore, SpillText, Spilled};
use crate::error::HookError;

/// A spill store in a directory of this machine.
///
/// Every session gets a directory named by a hash of its id; every text a file with an
/// unpredictable name that ends in the suggested one. Directories have mode 0700, files 0600. A
/// file is always a new one: an existing path or link is never followed. Nothing is ever removed.
///
/// ```
/// use callgate_core::hooks::{SpillDirectory, SpillStore, SpillText};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), callgate_core::ToolError> {
/// let store = SpillDirectory::private()?;
/// let saved = store.save(SpillText::new("s-1", "fetch", "call-1", "a long text")).await?;
/// assert_eq!(std::fs::read_to_string(&saved.locator)?, "a long text");
/// assert!(saved.locator.ends_with("-fetch.txt"));
/// # std::fs::remove_dir_all(store.root())?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct SpillDirectory {
    root: PathBuf,
}

impl SpillDirectory {
    /// Files below this directory, which is made if it is not there. A relative path starts at the
    /// working directory of now.
    ///
    /// # Errors
    ///
    /// If there is no working directory, or the path is not Unicode: models could not name it.
    pub fn new(root: impl AsRef<Path>) -> io::Result<Self> {
        let root = std::path::absolute(root)?;
        if root.to_str().is_none() {
            let message = format!("the spill directory {} is not Unicode", root.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        Ok(Self { root })
    }

    /// Files in a new directory for this process, among the temporary files of the machine.
    ///
    /// # Errors
    ///
    /// If it cannot be made.
    pub fn private() -> io::Result<Self> {
        let name = format!("callgate-spill-{}", unpredictable());
        let directory = Self::new(std::env::temp_dir().join(name))?;
        private_builder().create(&directory.root)?;
        Ok(directory)
    }

    /// The directory that holds all of them.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn write(&self, spill: &SpillText) -> io::Result<Spilled> {
        let directory = self.root.join(owner_segment(&spill.owner));
        private_builder().recursive(true).create(&self.root)?;
        make_private(&directory)?;
        let name = format!("{}-{}", unpredictable(), file_segment(&spill.suggested_name));
        let path = directory.join(name);
        write_new(&path, &spill.text)?;
        Ok(Spilled {
            locator: path.display().to_string(),
            bytes: spill.text.len() as u64,
            hint: "read the part you need".to_owned(),
        })
    }
}

impl SpillStore for SpillDirectory {
    fn save(&self, text: SpillText) -> BoxFuture<'_, Result<Spilled, HookError>> {
        Box::pin(async move {
            let Ok(runtime) = tokio::runtime::Handle::try_current() else {
                return Ok(self.write(&text)?);
            };
            let store = self.clone();
            Ok(runtime.spawn_blocking(move || store.write(&text)).await??)
        })
    }
}

/// The name as one segment of a path. Letters, digits, `.`, `_` and `-` of ASCII stay; every other
/// UTF-16 unit becomes `~` and four hexadecimal digits. Different names give different segments.
///
/// ```
/// use callgate_core::hooks::path_segment;
/// assert_eq!(path_segment("read.txt"), "read.txt");
/// assert_eq!(path_segment("../é"), "..~002F~00E9");
/// assert_eq!([path_segment(".."), path_segment("")], ["~002E~002E", "~"]);
/// ```
pub fn path_segment(name: &str) -> String {
    let is_special = matches!(name, "." | "..");
    let mut segment = String::with_capacity(name.len());
    for unit in name.encode_utf16() {
        match u8::try_from(unit) {
            Ok(byte) if is_plain(byte) && !is_special => segment.push(byte.into()),
            _ => push_unit(&mut segment, unit),
        }
    }
    // A tilde without digits stands for nothing else.
    if segment.is_empty() { "~".to_owned() } else { segment }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-')
}

fn push_unit(segment: &mut String, unit: u16) {
    let written = write!(segment, "~{unit:04X}");
    debug_assert!(written.is_ok(), "writing to a string cannot fail");
}

/// The longest segment of a suggested name that file systems take, with what stands before it.
const LONGEST: usize = 200;

/// [`path_segment`], with the end of a very long one replaced by a hash. No other name gives two
/// tildes in a row.
fn file_segment(name: &str) -> String {
    let mut segment = path_segment(name);
    if segment.len() > LONGEST {
        let hash = hex(&Sha256::digest(name));
        segment.truncate(LONGEST - 2 - hash.len());
        segment.push_str("~~");
        segment.push_str(&hash);
    }
    segment
}

fn owner_segment(owner: &str) -> String {
    hex(&Sha256::digest(owner)[..16])
}

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

/// 128 bits that only this process knows: hashes under keys that the operating system made.
fn unpredictable() -> String {
    let bits = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", bits(), bits())
}

/// Writes a file that must not be there yet, not even as a link.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(path)?.write_all(text.as_bytes());
    // Half a text helps nobody; if it cannot be removed either, the first error tells.
    written.inspect_err(|_| drop(fs::remove_file(path)))
}

fn private_builder() -> DirBuilder {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has modes"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Makes a directory that only its owner can use, or checks that the one there is such a one.
fn make_private(directory: &Path) -> io::Result<()> {
    match private_builder().create(directory) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => return made,
    }
    let found = fs::symlink_metadata(directory)?;
    if !found.is_dir() {
        let message = format!("{} is in the way: it is no directory", directory.display());
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        if found.permissions().mode() & 0o777 != 0o700 {
            fs::set_permissions(directory, fs::Permissions::from_mode(0o700))?;
        }
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_already_is_never_written_to() {
        // POLICY-34
        let directory = SpillDirectory::private().unwrap();
        let [file, link, dangling] = ["file", "link", "dangling"].map(|n| directory.root().join(n));
        write_new(&file, "first").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        std::os::unix::fs::symlink("nowhere", &dangling).unwrap();
        for path in [&file, &link, &dangling] {
            let error = write_new(path, "second").unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists, "{}", path.display());
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "first");
        assert!(!directory.root().join("nowhere").exists());
        fs::remove_dir_all(directory.root()).unwrap();
    }
}
