//! What a user reads when a declaration is refused. Fail cases only: one pass case would make every case be built apart.

#[test]
fn refused() {
    let cases = trybuild::TestCases::new();
    for theme in ["literal", "name", "options", "placement", "signature", "types"] {
        cases.compile_fail(format!("fail/{theme}/*.rs"));
    }
}
