//! [`PerScope`]: what a policy remembers of every scope that calls.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::call::Call;
use crate::registry::{ScopeId, WeakLayer};

/// With fewer scopes than this, nobody looks whether some are gone.
const FEW: usize = 64;

/// One value for every scope that calls, and one for the runtime's own calls. Values of scopes
/// that are gone go too, at the latest when as many scopes have come.
pub(super) struct PerScope<T>(Mutex<Values<T>>);

struct Values<T> {
    by_scope: BTreeMap<Option<ScopeId>, (WeakLayer, Arc<Mutex<T>>)>,
    /// How many there may be before the next look.
    room: usize,
}

impl<T: Default> PerScope<T> {
    /// Works on the value of the scope the call was made in.
    ///
    /// Its lock is held meanwhile, so `work` must not call anybody's code.
    pub(super) fn with<R>(&self, call: &Call, work: impl FnOnce(&mut T) -> R) -> R {
        let value = {
            let mut values = lock(&self.0);
            values.make_room();
            let fresh = || (call.weak_layer().clone(), Arc::default());
            values.by_scope.entry(call.scope()).or_insert_with(fresh).1.clone()
        };
        work(&mut lock(&value))
    }

    /// A copy of the value of a scope, if it ever called.
    pub(super) fn get(&self, scope: Option<ScopeId>) -> Option<T>
    where
        T: Clone,
    {
        lock(&self.0).by_scope.get(&scope).map(|(_, value)| lock(value).clone())
    }
}

impl<T> Values<T> {
    fn make_room(&mut self) {
        if self.by_scope.len() >= self.room {
            self.by_scope.retain(|_, (layer, _)| !layer.is_gone());
            self.room = FEW.max(2 * self.by_scope.len());
        }
    }
}

impl<T> Default for PerScope<T> {
    fn default() -> Self {
        Self(Mutex::new(Values { by_scope: BTreeMap::new(), room: FEW }))
    }
}

impl<T> fmt::Debug for PerScope<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerScope").finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
