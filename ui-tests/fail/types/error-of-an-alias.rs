use tako::prelude::*;

struct MyError;
type Fallible<T> = Result<T, MyError>;

#[tako::lock("reindex")]
async fn reindex(ctx: Ctx) -> Fallible<u32> {
    Ok(7)
}

fn main() {}
