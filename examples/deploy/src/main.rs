//! `deploy-example COMMAND [ARGUMENT]...` runs the command under the deploy lease of `TAKO_APP` in `TAKO_ENV`, and stops it
//! when the lease is lost. It exits with 75 (`EX_TEMPFAIL`) when somebody else is deploying.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use deploy_example::{Deployment, deploy};
use tako::{Ctx, Engine};
use tokio::process::Command;

const TRY_AGAIN_LATER: u8 = 75;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    let program = words.next().context("say what to run: deploy-example COMMAND [ARGUMENT]...")?;
    let mut command = Command::new(program);
    command.args(words).kill_on_drop(true);
    let engine = Engine::program()?;
    let interrupted = async {
        if tokio::signal::ctrl_c().await.is_ok() {
            // Tells the work to stop, and gives the lease back once it has.
            drop(engine.shutdown(Duration::from_secs(30)).await);
        }
        std::future::pending().await
    };
    let attempt = tokio::select! {
        attempt = deploy(&engine, async |ctx| run(&ctx, command).await) => attempt?,
        never = interrupted => never,
    };
    println!("{attempt}");
    Ok(match attempt {
        Deployment::Done(()) => ExitCode::SUCCESS,
        Deployment::Refused(_) => ExitCode::from(TRY_AGAIN_LATER),
    })
}

async fn run(ctx: &Ctx, mut command: Command) -> anyhow::Result<()> {
    let ended = ctx.until_cancelled(command.status()).await;
    // A deployment that lost its lease was stopped: somebody else may have begun.
    ctx.check()?;
    match ended {
        Some(status) => {
            let status = status.context("the command could not be started")?;
            if !status.success() {
                bail!("the command failed: {status}");
            }
            Ok(())
        }
        None => bail!("the deployment was stopped"),
    }
}
