//! Who holds which lock: every declaration of the program, and one look at the store for each name.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tako::{Engine, Kind, LockError};

/// A lock of this program.
#[derive(Debug, Serialize, Deserialize)]
pub struct LockStatus {
    /// Its name, which is its identity.
    pub name: String,
    /// Where it is declared: more than one place may name it, and all mean the same lock.
    pub declared: Vec<String>,
    /// Who has it; `None` when it is free.
    pub holder: Option<HolderStatus>,
}

/// Who has a lock, in whatever instance of the app.
#[derive(Debug, Serialize, Deserialize)]
pub struct HolderStatus {
    /// The instance, as people know it.
    pub owner: String,
    /// The number of the hold; the run under it has the same in the ledger.
    pub fence: u64,
    /// When the lease ends unless it is renewed: RFC 3339, in the store's time.
    pub expires: String,
    /// Whether that has passed: the holder is gone, and the next to ask takes over.
    pub is_expired: bool,
}

/// Lists the locks. The answer is for people: it is old when it arrives, so nothing may act on it.
///
/// # Errors
/// As [`Engine::inspect`].
pub async fn status(engine: &Engine) -> Result<Vec<LockStatus>, LockError> {
    let mut places = BTreeMap::<_, Vec<String>>::new();
    for declaration in tako::declared().into_iter().filter(|declaration| declaration.kind == Kind::Lock) {
        places
            .entry(declaration.name)
            .or_default()
            .push(format!("{}:{}", declaration.file, declaration.line));
    }
    let mut locks = Vec::new();
    for (name, declared) in places {
        let holder = engine.inspect(name).await?.map(|holder| HolderStatus {
            owner: holder.owner.label().to_owned(),
            fence: holder.fence.get(),
            expires: holder.expires.to_string(),
            is_expired: holder.is_expired,
        });
        locks.push(LockStatus { name: name.to_owned(), declared, holder });
    }
    Ok(locks)
}
