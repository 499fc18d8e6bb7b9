//! Deploys under the deploy lease: one deployment of an app to an environment at a time.

use std::fmt;
use std::future::Future;

use tako::{Ctx, Engine, Holder};

/// What an attempt came to.
#[derive(Debug)]
pub enum Deployment<T> {
    /// It was deployed.
    Done(T),
    /// Somebody else is deploying; `None` when they were done before they could be looked up.
    Refused(Option<Holder>),
}

/// Runs `deploy` under the deploy lease, if nobody else has it.
///
/// # Errors
/// As `deploy`, and as `Lock::try_run`.
pub async fn deploy<T, Fut>(engine: &Engine, deploy: impl FnOnce(Ctx) -> Fut) -> anyhow::Result<Deployment<T>>
where
    Fut: Future<Output = anyhow::Result<T>>,
{
    let lease = tako::deploy_lease();
    match lease.try_run(&engine.ctx(), deploy).await? {
        Some(done) => Ok(Deployment::Done(done)),
        None => Ok(Deployment::Refused(engine.inspect(lease.name()).await?)),
    }
}

impl<T> fmt::Display for Deployment<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Deployment::Done(_) => f.write_str("deployed"),
            Deployment::Refused(None) => f.write_str("somebody else was deploying until just now: try again"),
            Deployment::Refused(Some(holder)) => {
                write!(f, "{} is deploying", holder.owner.label())?;
                if let Some(since) = holder.since() {
                    write!(f, ", since about {since}")?;
                }
                let until = holder.expires;
                if holder.is_expired {
                    write!(f, ". It has not been heard of since: its lease ran out at {until}. Try again")
                } else {
                    write!(f, ". Its lease runs until {until}, and is renewed while it works")
                }
            }
        }
    }
}
