//! Two scripts at once: one deploys, the other is told who does.

use std::time::Duration;

use deploy_example::{Deployment, deploy};
use tako::Engine;
use tako::backend::MemoryLease;

fn script(table: &MemoryLease, label: &str) -> Engine {
    Engine::builder(table.clone()).app("shop").env("prod").label(label).on_callers_runtime().build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_second_is_refused_and_told_by_whom_and_since_when() {
    let table = MemoryLease::new();
    let (first, second) = (script(&table, "ci-17"), script(&table, "ci-18"));
    let deploying = tokio::spawn(async move {
        let minutes = async |_| {
            tokio::time::sleep(Duration::from_mins(5)).await;
            Ok("v42")
        };
        deploy(&first, minutes).await
    });
    tokio::time::sleep(Duration::from_mins(2)).await;
    let refused = deploy(&second, async |_| Ok("v43")).await.unwrap();
    let Deployment::Refused(Some(holder)) = &refused else { panic!("{refused:?}") };
    let since = holder.since().expect("the record tells");
    let text = refused.to_string();
    assert!(text.starts_with(&format!("ci-17 is deploying, since about {since}. Its lease runs")), "{text}");
    assert!(holder.expires.since(since) > Duration::from_mins(2), "it has been kept up: {holder:?}");
    assert!(matches!(deploying.await.unwrap().unwrap(), Deployment::Done("v42")));
    assert!(matches!(deploy(&second, async |_| Ok("v43")).await.unwrap(), Deployment::Done("v43")));
}

#[tokio::test(start_paused = true)]
async fn a_deployment_that_fails_gives_the_lease_back() {
    let table = MemoryLease::new();
    let (first, second) = (script(&table, "ci-17"), script(&table, "ci-18"));
    let failed = deploy(&first, async |_| Err::<(), _>(anyhow::anyhow!("no such image"))).await;
    assert_eq!(failed.unwrap_err().to_string(), "no such image");
    assert!(matches!(deploy(&second, async |_| Ok(())).await.unwrap(), Deployment::Done(())));
}
