//! Plugins: sets of registrations that come, are replaced and go as a unit.

use std::fmt;

use crate::change::Change;
use crate::cleanup;
use crate::error::{Error, ErrorKind};
use crate::registry::{EntryId, Layer};

/// A set of registrations that belong together.
///
/// ```
/// use callgate_core::{Change, Denial, Plugin, ToolRuntime};
///
/// struct NoShell;
/// impl Plugin for NoShell {
///     fn name(&self) -> &str { "no-shell" }
///     fn install(&self, change: &mut Change<'_>) {
///         change.guard(|call| (&**call.name() == "bash").then(|| Denial::new("no shell here")));
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), callgate_core::Error> {
/// let runtime = ToolRuntime::builder().build()?;
/// let handle = runtime.install(&NoShell)?;
/// handle.dispose().await;
/// # Ok(()) }
/// ```
pub trait Plugin {
    /// Its name, for people.
    fn name(&self) -> &str;

    /// Describes what it registers. Nothing is visible before all of it is.
    fn install(&self, change: &mut Change<'_>);
}

/// An installed plugin. Dropping it does nothing: the plugin lives as long as its layer.
#[derive(Clone)]
pub struct PluginHandle {
    layer: Layer,
    /// What its clean-ups must not wait for.
    owner: EntryId,
    installed: std::sync::Arc<tokio::sync::Mutex<Installed>>,
}

#[derive(Debug, Default)]
struct Installed(Vec<EntryId>);

impl Layer {
    /// Installs a plugin here: all of it or, on error, nothing.
    ///
    /// # Errors
    ///
    /// The first registration that cannot be made.
    pub fn install(&self, plugin: &(impl Plugin + ?Sized)) -> Result<PluginHandle, Error> {
        let added = self.exchange(&[], plugin)?;
        let installed = std::sync::Arc::new(tokio::sync::Mutex::new(Installed(added)));
        Ok(PluginHandle { layer: self.clone(), owner: EntryId::fresh(), installed })
    }
}

impl PluginHandle {
    /// Puts another plugin in the place of this one, at once: there is no moment in which neither
    /// is in force. Then waits for the clean-ups of the old one.
    ///
    /// # Errors
    ///
    /// The first registration of the new plugin that cannot be made, or that it is called from inside a clean-up of the
    /// old one; then the old one stays.
    ///
    /// # Cancellation
    ///
    /// Dropping the future while clean-ups run leaves the rest of them undone; the exchange
    /// itself has happened.
    pub async fn replace(&self, plugin: &(impl Plugin + ?Sized + Sync)) -> Result<(), Error> {
        if cleanup::is_inside(self.owner.number()) {
            let message = "a plugin cannot be replaced by its own clean-up; install another one";
            return Err(Error::new(ErrorKind::Disposed, message));
        }
        let mut installed = self.installed.lock().await;
        let added = self.layer.exchange(&installed.0, plugin)?;
        let old = std::mem::replace(&mut installed.0, added);
        self.layer.undo_in_order(old, self.owner).await;
        Ok(())
    }

    /// Removes everything the plugin registered, youngest first, and waits for its clean-ups.
    /// Twice is harmless; concurrent calls wait for the same end, but for those from inside one of its clean-ups.
    ///
    /// # Cancellation
    ///
    /// If the future is dropped, a second call goes on where it stopped.
    pub async fn dispose(&self) {
        if cleanup::is_inside(self.owner.number()) {
            return;
        }
        let mut installed = self.installed.lock().await;
        self.layer.undo_in_order(installed.0.clone(), self.owner).await;
        installed.0.clear();
    }
}

impl fmt::Debug for PluginHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PluginHandle").finish_non_exhaustive()
    }
}
