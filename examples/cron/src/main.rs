//! `cargo run -p cron-example`

use cron_example::play;
use tako::LockError;
use tako::cron::CronConfig;

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), LockError> {
    let forms = [
        ("every instance runs every tick", CronConfig::default()),
        ("singleflight", CronConfig { singleflight: true, ..CronConfig::default() }),
        ("singleton", CronConfig { singleton: true, ..CronConfig::default() }),
    ];
    for (title, config) in forms {
        println!("\n{title}:");
        for line in play(config, 4).await? {
            println!("  {line}");
        }
    }
    Ok(())
}
