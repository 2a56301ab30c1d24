//! A small change in every language, whole and as a fragment from the middle of a file, with what a person says of it.

use super::*;

#[test]
fn python() {
    let diff = "\
--- a/cache.py
+++ b/cache.py
@@ -1,12 +1,15 @@
+import threading
 class Cache:
-    def __init__(self, size, ttl=300):
+    def __init__(self, max_size, ttl=60.0):
         self.ttl = ttl
+        self._lock = threading.Lock()
 
-    def get(self, key):
-        if key in self.data:
+    def fetch(self, key):
+        if key not in self.data:
             return self.data[key]
-        raise KeyError(key)
+        raise LookupError(key)
 
     def clear(self):
-        self.data = {}
+        with self._lock:
+            self.data = {}
         return None
";
    assert_story(
        diff,
        "python",
        &[
            "New Import threading: Added",
            "New Parameter ttl = 60.0: Changed (ttl = 300)",
            "Old Parameter ttl = 300: Changed (ttl = 60.0)",
            "New Number 60.0: Added",
            "Old Number 300: Removed",
            "New Parameter max_size: Renamed (size)",
            "New Binding self._lock = threading.Lock(): Added",
            "New Call threading.Lock = : Added",
            "New Function fetch: Renamed (get)",
            "New Condition if = key not in self.data: Inverted (if = key in self.data)",
            "Old Raise KeyError = key: Removed",
            "New Raise LookupError = key: Added",
            "New Resource self._lock = self._lock: Added",
        ],
    );
    let changes = changes(diff, "python");
    assert!(story(&changes).iter().all(|line| !line.contains("self.data = {}")), "the same line, only further in");
    let lock = changes.named(Which::New, "threading.Lock()");
    assert_eq!(lock.len(), 1);
    assert_eq!(changes.diff_line(&lock[0]), Some(8));
    assert_eq!(changes.scope_name(&lock[0]).as_deref(), Some("Cache.__init__"));
    assert!(changes.named(Which::Old, "threading.Lock").is_empty());
    assert_eq!(changes.named(Which::Old, "Cache.get").len(), 1);
    assert_eq!(changes.named(Which::New, "_lock").len(), 3);
    assert!(changes.named(Which::New, "60").is_empty(), "60.0 is another number");
    assert_eq!(changes.named(Which::New, "60.0").len(), 1);
}

#[test]
fn python_fragment() {
    let diff = "\
@@ ... @@ class Cache:
             return value
         else:
-            self.misses += 1
+            self.misses += 2
             return None
 
     def put(self, key, value):
-        self.data.update(key, value)
+        self.data.update(key, value, ttl=self.ttl)
+        log(\"put\")
";
    assert_story(
        diff,
        "python",
        &[
            "New Binding self.misses = 2: Changed (self.misses = 1)",
            "New Call self.data.update = key, value, ttl=self.ttl: Changed (self.data.update = key, value)",
            "New Call log = \"put\": Added",
            "New Text put: Added",
            "New Binding ttl = self.ttl: Added",
        ],
    );
    let changes = changes(diff, "python");
    assert!(changes.items(Which::Old, ItemKind::Function).all(|fact| fact.status == Status::Kept));
    assert_eq!(changes.items(Which::New, ItemKind::Return).count(), 2);
}

#[test]
fn javascript_whole_and_fragment() {
    let diff = "\
--- a/app.js
+++ b/app.js
@@ ... @@
-const fs = require('fs');
+import { readFile } from 'fs/promises';
 
-function load(path, retries = 3) {
-  if (path && retries > 0) {
-    return fs.readFileSync(path);
+async function load(path, retries = 5) {
+  if (path || retries > 0) {
+    console.warn('loading');
+    return readFile(path);
   }
 }
";
    assert_story(
        diff,
        "javascript",
        &[
            "Old Import fs: Removed",
            "New Import readFile = fs/promises: Added",
            "New Parameter retries = 5: Changed (retries = 3)",
            "New Condition if = path || retries > 0: Widened (if = path && retries > 0)",
            "New Call console.warn = 'loading': Added",
            "Old Call fs.readFileSync = path: Removed",
            "New Return return = readFile(path): Changed (return = fs.readFileSync(path))",
        ],
    );
    let fragment = "\
@@ ... @@
     return this.items;
   }
 
-  add(item, { force = false }) {
+  add(item, { force = true }) {
     this.items.push(item);
   }
-  remove(item) {
+  discard(item) {
     this.items.delete(item);
";
    assert_story(
        fragment,
        "javascript",
        &["New Parameter force = true: Changed (force = false)", "New Function discard: Renamed (remove)"],
    );
}

#[test]
fn typescript_whole_and_fragment() {
    let diff = "\
--- a/user.ts
+++ b/user.ts
@@ ... @@
 interface User {
   name: string;
+  email?: string;
 }
-export const limit: number = 10;
+export const limit: number = 20;
 type Id = string;
";
    assert_story(diff, "typescript", &["New Field email: Added", "New Binding limit = 20: Changed (limit = 10)"]);
    let fragment = "\
@@ ... @@
     }
-    private async send(to: string): Promise<void> {
+    private async send(to: string, cc?: string): Promise<void> {
+        throw new MailError('no server');
     }
";
    assert_story(fragment, "typescript", &["New Parameter cc: Added", "New Raise MailError = 'no server': Added"]);
}

#[test]
fn java_whole_and_fragment() {
    let diff = "\
--- a/Pool.java
+++ b/Pool.java
@@ ... @@
-import java.util.List;
+import java.util.Set;
 public class Pool {
-    private static final int MAX = 10;
+    private static final int MAX = 16;
     int take(int count) {
-        if (count > MAX) throw new IllegalStateException(\"full\");
+        if (count >= MAX) throw new IllegalArgumentException(\"full\");
-        return count;
+        synchronized (this) {
+            return count;
+        }
     }
 }
";
    let lines = diff.replace("-1,10 +1,10", "-1,8 +1,10");
    assert_story(
        &lines,
        "java",
        &[
            "Old Import java.util.List = java.util: Removed",
            "New Import java.util.Set = java.util: Added",
            "New Binding MAX = 16: Changed (MAX = 10)",
            "New Condition if = count >= MAX: Widened (if = count > MAX)",
            "New Raise IllegalArgumentException = \"full\": Added",
            "New Resource this = this: Added",
        ],
    );
    let fragment = "\
@@ ... @@
             log.info(\"x\");
         }
     }
-    public void close(boolean force) {
+    public void shutdown(boolean force) {
         pool.close();
     }
";
    assert_story(fragment, "java", &["New Function shutdown: Renamed (close)"]);
}

#[test]
fn go_whole_and_fragment() {
    let diff = "\
--- a/pool.go
+++ b/pool.go
@@ ... @@
 package pool
 
-func (p *Pool) Get(n int) error {
+func (p *Pool) Get(n int, wait bool) error {
+\tp.mu.Lock()
+\tdefer p.mu.Unlock()
-\tif n == 0 {
+\tif n != 0 {
 \t\treturn nil
 \t}
 }
";
    assert_story(
        diff,
        "go",
        &[
            "New Parameter wait: Added",
            "New Call p.mu.Lock = : Added",
            "New Resource p.mu.Unlock = p.mu.Unlock(): Added",
            "New Condition if = n != 0: Inverted (if = n == 0)",
        ],
    );
    let changes = changes(diff, "go");
    assert_eq!(changes.named(Which::Old, "Pool.Get").len(), 1);
    let fragment = "\
@@ ... @@
 \t\treturn err
 \t}
-\tlog.Printf(\"took %d\", 3)
+\tlog.Printf(\"took %d\", 4)
 \treturn nil
 }
";
    assert_story(fragment, "go", &["New Call log.Printf = \"took %d\", 4: Changed (log.Printf = \"took %d\", 3)"]);
}

#[test]
fn rust_whole_and_fragment() {
    let diff = "\
--- a/pool.rs
+++ b/pool.rs
@@ ... @@
-use std::sync::Mutex;
+use std::sync::{Arc, RwLock};
 impl Pool {
-    pub fn take(&self, count: usize) -> Option<Item> {
+    pub fn take(&self, count: usize, wait: bool) -> Option<Item> {
-        if count > self.max {
+        if !(count > self.max) {
-            return None;
+            panic!(\"full\");
         }
-        self.items.lock().unwrap().pop()
+        self.items.write().unwrap().pop()
     }
 }
";
    assert_story(
        diff,
        "rust",
        &[
            "Old Import std::sync::Mutex = std::sync: Removed",
            "New Import std::sync::Arc = std::sync: Added",
            "New Import std::sync::RwLock = std::sync: Added",
            "New Parameter wait: Added",
            "New Condition if = !(count > self.max): Inverted (if = count > self.max)",
            "Old Return return = None: Removed",
            "New Raise panic = \"full\": Added",
            "Old Call self.items.lock = : Removed",
            "New Call self.items.write = : Added",
        ],
    );
    let fragment = "\
@@ ... @@
             None => 0,
         };
-        let timeout = Duration::from_secs(30);
+        let deadline = Duration::from_secs(30);
         self.run()
     }
";
    assert_story(
        fragment,
        "rust",
        &["New Binding deadline = Duration::from_secs(30): Renamed (timeout = Duration::from_secs(30))"],
    );
}

#[test]
fn c_whole_and_fragment() {
    let diff = "\
--- a/buf.c
+++ b/buf.c
@@ ... @@
-#define SIZE 64
+#define SIZE 128
 struct buf {
   char *data;
+  size_t len;
 };
-int put(struct buf *b, int c) {
+int put(struct buf *b, unsigned c) {
-  if (b->data == NULL)
+  if (b->data == NULL && c)
     return -1;
-  b->data[0] = c;
+  memset(b->data, c, SIZE);
   return 0;
 }
";
    assert_story(
        diff,
        "c",
        &[
            "New Binding SIZE = 128: Changed (SIZE = 64)",
            "New Field len: Added",
            "New Condition if = b->data == NULL && c: Narrowed (if = b->data == NULL)",
            "Old Binding b->data[0] = c: Removed",
            "New Call memset = b->data, c, SIZE: Added",
        ],
    );
    let fragment = "\
@@ ... @@
     }
   }
-  free(p);
+  free(q);
   return -1;
 }
";
    assert_story(fragment, "c", &["New Call free = q: Changed (free = p)"]);
}

#[test]
fn cpp_whole_and_fragment() {
    let diff = "\
--- a/q.cpp
+++ b/q.cpp
@@ ... @@
 class Queue : public Base {
 public:
-  int pop(int wait = 0);
+  int pop(int wait = 1);
+  std::mutex mu_;
 };
 int Queue::pop(int wait) {
-  if (items_.empty()) throw std::runtime_error(\"empty\");
+  std::lock_guard<std::mutex> lock(mu_);
+  if (!items_.empty()) throw std::logic_error(\"empty\");
   return 1;
 }
";
    assert_story(
        diff,
        "cpp",
        &[
            "New Parameter wait = 1: Changed (wait = 0)",
            "New Field mu_: Added",
            "New Binding lock = (mu_): Added",
            "New Condition if = !items_.empty(): Inverted (if = items_.empty())",
            "New Raise std::logic_error = \"empty\": Added",
        ],
    );
    let fragment = "\
@@ ... @@
   }
 }
-void Queue::close() {
+void Queue::shutdown() {
   done_ = true;
 }
";
    assert_story(fragment, "cpp", &["New Function Queue::shutdown: Renamed (Queue::close)"]);
}

#[test]
fn csharp_whole_and_fragment() {
    let diff = "\
--- a/Pool.cs
+++ b/Pool.cs
@@ ... @@
+using System.IO;
 class Pool {
-  private int max = 10;
+  private int max = 20;
-  public int Take(int count) {
+  public int Take(int count, bool wait = false) {
+    lock (gate) { count++; }
-    if (count == null) { throw new ArgumentException(\"x\"); }
+    if (count != null) { throw new ArgumentException(\"x\"); }
     return count;
   }
 }
";
    assert_story(
        diff,
        "csharp",
        &[
            "New Import System.IO: Added",
            "New Binding max = 20: Changed (max = 10)",
            "New Parameter wait = false: Added",
            "New Resource gate = gate: Added",
            "New Condition if = count != null: Inverted (if = count == null)",
        ],
    );
    let fragment = "\
@@ ... @@
             return null;
         }
 
-        public string Name(int id)
+        public string Title(int id)
         {
             return names[id];
         }
";
    assert_story(fragment, "csharp", &["New Function Title: Renamed (Name)"]);
}

#[test]
fn ruby_whole_and_fragment() {
    let diff = "\
--- a/pool.rb
+++ b/pool.rb
@@ ... @@
+require 'monitor'
 class Pool
-  def take(count, wait: 1)
+  def take(count, wait: 5)
-    raise ArgumentError, 'x' unless count
+    raise KeyError, 'x' if count
     begin
       run(count)
-    rescue IOError => e
+    rescue StandardError => e
       nil
     end
   end
 end
";
    assert_story(
        diff,
        "ruby",
        &[
            "New Import monitor: Added",
            "New Parameter wait = 5: Changed (wait = 1)",
            "Old Raise ArgumentError = 'x': Removed",
            "New Raise KeyError = 'x': Added",
            "New Condition if = count: Inverted (unless = count)",
            "Old Catch IOError: Removed",
            "New Catch StandardError: Added",
        ],
    );
    let fragment = "\
@@ ... @@
       end
     end
 
-    def size
+    def length
       @items.size
     end
";
    assert_story(fragment, "ruby", &["New Function length: Renamed (size)"]);
}

#[test]
fn php_whole_and_fragment() {
    let diff = "\
--- a/Pool.php
+++ b/Pool.php
@@ ... @@
 <?php
+use App\\Lock;
 class Pool {
-  private $max = 10;
+  private $max = 20;
-  public function take(int $count, $wait = 1) {
+  public function take(int $count, $wait = 2) {
-    if ($count > $this->max) { throw new A(\"x\"); }
+    if ($count < $this->max) { throw new B(\"x\"); }
     return $this->run($count);
   }
 }
";
    assert_story(
        diff,
        "php",
        &[
            "New Import App\\Lock = App: Added",
            "New Binding $max = 20: Changed ($max = 10)",
            "New Parameter $wait = 2: Changed ($wait = 1)",
            "New Condition if = $count < $this->max: Changed (if = $count > $this->max)",
            "New Raise B = \"x\": Added",
        ],
    );
    let fragment = "\
@@ ... @@
         }
         return $x;
     }
 
-    public function name(string $id): string
+    public function title(string $id): string
     {
         return $this->names[$id];
     }
";
    assert_story(fragment, "php", &["New Function title: Renamed (name)"]);
}
