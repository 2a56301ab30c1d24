//! Files whose changes nobody writes or reads: locks of dependencies, and what a tool generates.

/// Names that a tool gives, whatever the folder.
const NAMES: [&str; 27] = [
    "Cargo.lock",
    "Gemfile.lock",
    "Package.resolved",
    "Pipfile.lock",
    "Podfile.lock",
    "bun.lock",
    "bun.lockb",
    "composer.lock",
    "conan.lock",
    "deno.lock",
    "flake.lock",
    "go.sum",
    "go.work.sum",
    "gradle.lockfile",
    "mix.lock",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "packages.lock.json",
    "pdm.lock",
    "pixi.lock",
    "pnpm-lock.yaml",
    "poetry.lock",
    "pubspec.lock",
    "stack.yaml.lock",
    "uv.lock",
    "yarn.lock",
    ".terraform.lock.hcl",
];

/// Ends of names that tools give to what they write.
const ENDINGS: [&str; 11] = [
    ".min.js",
    ".min.mjs",
    ".min.css",
    ".js.map",
    ".css.map",
    ".pb.go",
    "_pb2.py",
    "_pb2_grpc.py",
    ".pb.cc",
    ".pb.h",
    ".designer.cs",
];

/// Whether the name says that a tool wrote the file.
pub fn is_generated(name: &str) -> bool {
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
    NAMES.contains(&name) || ENDINGS.iter().any(|ending| name.to_ascii_lowercase().ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_tells() {
        for generated in ["Cargo.lock", "web/package-lock.json", "dist/app.min.js", "api/v1/x.pb.go", "go.sum"] {
            assert!(is_generated(generated), "{generated}");
        }
        for written in ["src/lock.rs", "package.json", "go.mod", "admin.js", "Cargo.toml", "file.lock", ""] {
            assert!(!is_generated(written), "{written}");
        }
    }
}
