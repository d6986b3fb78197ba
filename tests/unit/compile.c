/*
 * compile -- C texts for tests.
 */
#define _POSIX_C_SOURCE 200809L
#define CFX_NO_PLACES
#include "tests/unit/compile.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Functions that generated C calls but the library does not: the references
 * keep them in a program that links it statically. */
extern const struct needed {
    cfx_value (*get_attr)(cfx_scope *, cfx_module *, const char *);
    cfx_value (*op)(cfx_scope *, cfx_value);
    cfx_value (*named)(cfx_scope *, const char *, cfx_value);
    cfx_value (*module)(cfx_scope *, cfx_module *, const char *, cfx_value);
} compile_needed;

const struct needed compile_needed = {cfx_call_get_attr, cfx_relu, cfx_named,
                                      cfx_call_module};

static const char *env(const char *name, const char *otherwise)
{
    const char *v = getenv(name);
    return v && *v ? v : otherwise;
}

/* Flags that find the headers of this tree. */
static const char *compile_flags(void)
{
    static char flags[1024];
    const char *src = env("srcdir", "."), *build = env("builddir", ".");
    snprintf(flags, sizeof(flags), "-I%s/lib -I%s/interp -I%s/lib", src, src,
             build);
    return flags;
}

static void read_said(compiled_file *f, const char *path)
{
    FILE *said = fopen(path, "r");
    size_t n = said ? fread(f->why, 1, sizeof(f->why) - 1, said) : 0;
    f->why[n] = '\0';
    if (said)
        fclose(said);
}

static bool compile_as(compiled_file *f, const char *cc, const char *more,
                       const char *dir)
{
    char command[4096], said[300];
    snprintf(said, sizeof(said), "%s/said", dir);
    snprintf(
        command, sizeof(command),
        "%s -std=c11 -Wall -Wextra -Wpedantic -Werror -Wmissing-prototypes"
        " %s %s -o %s/m.so %s/m.c >%s 2>&1",
        cc, more, compile_flags(), dir, dir, said);
    bool ok = !system(command);
    if (!ok)
        read_said(f, said);
    return ok;
}

static bool load(compiled_file *f, const char *dir)
{
    char path[300];
    snprintf(path, sizeof(path), "%s/m.so", dir);
    f->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    f->entry = f->handle ? dlsym(f->handle, "module_compiled") : NULL;
    if (!f->entry)
        snprintf(f->why, sizeof(f->why), "%s", dlerror());
    return f->entry;
}

static cfx_status write_text(const cfx_module *gm, const char *dir,
                             cfx_error *err)
{
    char path[300];
    cfx_c_options how = {.size = sizeof(how), .prefix = "module"};
    snprintf(path, sizeof(path), "%s/m.c", dir);
    FILE *to = fopen(path, "w");
    if (!to)
        return cfx_fail(err, CFX_EIO, "%s: cannot be written", path);
    cfx_status st = cfx_print_c(cfx_sink_file(to), gm, &how, err);
    fclose(to);
    return st;
}

bool compile_module(compiled_file *f, const cfx_module *gm, cfx_error *err)
{
    char dir[] = "/tmp/cfx-test-XXXXXX", command[128];
    const char *second = getenv("CFX_CC2");
    *f = (compiled_file){.handle = NULL};
    if (!mkdtemp(dir))
        return false;
    bool ok = !write_text(gm, dir, err);
    if (!ok)
        snprintf(f->why, sizeof(f->why), "%.1000s", err->text);
    if (ok && second)
        ok = compile_as(f, second, "-O0 -fPIC -shared", dir);
    ok = ok &&
         compile_as(f, env("CC", "cc"), "-O0 -fPIC -shared -DCFX_NO_MAIN",
                    dir) &&
         load(f, dir);
    if (!getenv("CFX_KEEP")) {
        snprintf(command, sizeof(command), "rm -rf %s", dir);
        if (system(command))
            ok = false;
    }
    return ok;
}

void compile_release(compiled_file *f)
{
    if (f->handle)
        dlclose(f->handle);
    f->handle = NULL;
}
