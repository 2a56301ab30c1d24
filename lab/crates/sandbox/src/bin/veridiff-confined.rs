//! The sandbox alone, for the tests of this crate and to look into it by hand: runs a Python program from standard input confined, and
//! prints what is known of it as JSON. `veridiff-confined [native|bwrap]`

fn main() -> Result<(), Box<dyn std::error::Error>> {
    use std::io::{Read as _, Write as _};
    veridiff_sandbox::helper::start_if_asked();
    use veridiff_sandbox::{
        job::{Job, fixed_env},
        runner::{Language, Runner},
        sandbox::{Backend, Sandbox},
        watch::{Silence, watch},
    };
    let backend = match std::env::args().nth(1).as_deref() {
        None | Some("native") => Backend::Native,
        Some("bwrap") => Backend::bubblewrap()?,
        Some(other) => return Err(format!("`{other}` is neither `native` nor `bwrap`").into()),
    };
    let mut program = String::new();
    std::io::stdin().read_to_string(&mut program)?;
    let runner = Runner::find(Language::Python)?;
    let mut argv = runner.argv();
    argv.extend(["-c".to_owned(), program]);
    let job = Job { steps: vec![argv], files: Vec::new(), env: fixed_env(0), limits: runner.limits, view: runner.view };
    let sandbox = Sandbox::new(backend, std::env::current_exe()?);
    let outcome = watch(vec![sandbox.start(&job)?], Vec::new(), &mut Silence)?;
    serde_json::to_writer_pretty(std::io::stdout(), &outcome)?;
    writeln!(std::io::stdout())?;
    Ok(())
}
