//! A little code in every language, with items that a person sees in it.

use super::*;

#[test]
fn python() {
    let text = "from a.b import c as d\n@dec(1)\ndef f(x, *rest, y: int = 0x1F, **kw):\n    \"\"\"Doc.\"\"\"\n    with open(p) as h, self.lock:\n        \
                h.n += 1_000\n    try:\n        pass\n    except (A, b.C):\n        raise\n    return None\n";
    assert_items(
        text,
        Language::Python,
        &[
            "Import c = a.b",
            "Import d = c",
            "Call dec = 1",
            "Function f",
            "Parameter x",
            "Parameter rest",
            "Parameter y = 0x1F",
            "Parameter kw",
            "Comment Doc.",
            "Resource open = open(p)",
            "Resource self.lock = self.lock",
            "Binding h = open(p)",
            "Binding h.n = 1_000",
            "Number 1_000",
            "Number 0x1F",
            "Catch A",
            "Catch b.C",
            "Raise ",
            "Return return = None",
            "Constant None",
        ],
    );
}

#[test]
fn scopes_and_guards_are_those_around() {
    let text = "class A:\n    def f(self):\n        if a:\n            x()\n        elif b:\n            y()\n        else:\n            z()\n";
    let syntax = Syntax::parse(text, Some(Language::Python));
    let find =
        |name: &str| syntax.items.iter().position(|item| item.name == name && item.kind != ItemKind::Use).unwrap();
    let guards = |name: &str| -> Vec<(String, bool)> {
        let item = &syntax.items[find(name)];
        item.guards.iter().map(|&(index, other)| (syntax.items[index].value.clone().unwrap(), other)).collect()
    };
    assert_eq!(guards("x"), [("a".to_owned(), false)]);
    assert_eq!(guards("y"), [("a".to_owned(), true), ("b".to_owned(), false)]);
    assert_eq!(guards("z"), [("a".to_owned(), true), ("b".to_owned(), true)]);
    assert_eq!(syntax.items[find("z")].scope, Some(find("f")));
    assert_eq!(syntax.items[find("f")].scope, Some(find("A")));
    assert_eq!(syntax.items[find("f")].line, 1);
}

#[test]
fn javascript_and_typescript() {
    let text = "import d, { a as b } from './m';\nconst f = async (q, { r = 1 }) => { if (!q) throw new E('x'); return `t`; };\n\
                class K { z = 3; get v() { return this.z; } }\ntry { g?.h(null) } catch (e) {}\n";
    for language in [Language::JavaScript, Language::TypeScript, Language::Tsx] {
        assert_items(
            text,
            language,
            &[
                "Import d = ./m",
                "Import a = ./m",
                "Import b = ./m",
                "Function f",
                "Parameter q",
                "Parameter r = 1",
                "Condition if = !q",
                "Raise E = 'x'",
                "Return return = `t`",
                "Type K",
                "Binding z = 3",
                "Function v",
                "Use this.z",
                "Call g?.h = null",
                "Catch ",
            ],
        );
    }
    assert_items("<a href=\"x\" on={() => f()} />", Language::Tsx, &["Binding href = \"x\"", "Call f = "]);
}

#[test]
fn java_and_go() {
    let java = "import a.B;\nclass C { int f; void m(int x) throws E { try (R r = new R()) { r.go(1); } catch (A | B e) {} } }\n";
    let expected = [
        "Import a.B = a",
        "Field f",
        "Function m",
        "Parameter x",
        "Resource R = new R()",
        "Call r.go = 1",
        "Catch A",
        "Catch B",
    ];
    assert_items(java, Language::Java, &expected);
    let go = "package p\nimport x \"a/b\"\ntype T struct { f int }\nfunc (t *T) M(a, b int) (err error) {\n\tdefer mu.Unlock()\n\tv, ok := t.g(nil)\n}\n";
    let expected = ["Import a/b", "Import x = a/b", "Type T", "Field f", "Function T.M", "Parameter a", "Parameter b"];
    assert_items(go, Language::Go, &expected);
    assert_items(go, Language::Go, &["Resource mu.Unlock = mu.Unlock()", "Binding ok = t.g(nil)", "Constant nil"]);
    assert!(!items(go, Language::Go).contains(&"Parameter err".to_owned()), "a result is no parameter");
}

#[test]
fn rust_c_and_cpp() {
    let rust = "use a::{b::{self, C as D}, *};\nimpl<T> K<T> { fn m(&self, (p, q): (u8, u8)) { let Some(x) = f::<u8>(1) else { return }; vec![2]; } }\n";
    let expected = [
        "Import a::b = a",
        "Import a::b::C = a::b",
        "Import D = a::b::C",
        "Type K",
        "Function m",
        "Parameter self",
        "Parameter q",
    ];
    assert_items(rust, Language::Rust, &expected);
    assert_items(rust, Language::Rust, &["Binding x = f::<u8>(1)", "Call f = 1", "Call vec = 2"]);
    assert!(!items(rust, Language::Rust).iter().any(|item| item.starts_with("Binding Some")));
    let c =
        "#include <a.h>\n#define N 3\nstruct s { int a; };\nstatic int *get(struct s *k, int n);\nint x = N ? 1 : 2;\n";
    let expected = [
        "Import a.h",
        "Binding N = 3",
        "Type s",
        "Field a",
        "Function get",
        "Parameter k",
        "Parameter n",
        "Condition ? = N",
    ];
    assert_items(c, Language::C, &expected);
    let cpp = "int A::get(std::vector<int> v, int *p = nullptr) { try { throw e(1); } catch (const x::E &e) {} catch (...) {} }\n";
    let expected = ["Function A::get", "Parameter v", "Parameter p = nullptr", "Raise e = 1", "Catch x::E", "Catch "];
    assert_items(cpp, Language::Cpp, &expected);
}

#[test]
fn csharp_ruby_and_php() {
    let csharp = "using A.B;\nclass C { public int P { get; set; } = 3; int F(string k, int o = 1) { using (var s = G.O(p)) { } s?.M(); return k ?? null; } }\n";
    let expected =
        ["Import A.B", "Binding P = 3", "Parameter o = 1", "Resource G.O = G.O(p)", "Call s?.M = ", "Constant null"];
    assert_items(csharp, Language::CSharp, &expected);
    let ruby = "require 'j'\nclass A < B\n  def self.m(a, b = 2, k:)\n    @x = 1 unless a\n    raise E.new('x')\n  rescue C::D\n    self.v = 3\n  end\nend\n";
    let expected = [
        "Import j",
        "Function m",
        "Parameter b = 2",
        "Parameter k",
        "Binding @x = 1",
        "Condition unless = a",
        "Raise E = 'x'",
    ];
    assert_items(ruby, Language::Ruby, &expected);
    assert_items(ruby, Language::Ruby, &["Catch C::D", "Binding self.v = 3"]);
    let php = "<?php\nuse C\\D;\nclass A { const K = 1; function f(int $a = 1) { $this->x = foo(name: 2); return A::g($a); } }\n";
    let expected =
        ["Import C\\D = C", "Binding K = 1", "Parameter $a = 1", "Binding $this->x = foo(name: 2)", "Call A::g = $a"];
    assert_items(php, Language::Php, &expected);
}
