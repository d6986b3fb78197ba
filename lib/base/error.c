/*
 * error -- error messages of one line.
 */
#include "base/unicode.h"
#include "base/util.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Write the text, which ends at `end`, so that it is one line, and a terminal
 * acts on none of it, whatever names and strings of a file it holds. What does
 * not fit ends in "...". */
static void write_line(char to[CFX_ERROR_TEXT], const char *s, const char *end)
{
    size_t n = 0, cut = 0;
    while (s < end) {
        char one[CFX_ESCAPE];
        size_t used, len = cfx_utf8_visible(one, s, (size_t)(end - s), &used);
        if (*s == '\n' || *s == '\t') {
            *one = ' ';
            len = 1;
        }
        if (n + len >= CFX_ERROR_TEXT) {
            memcpy(to + cut, "...", 4);
            return;
        }
        memcpy(to + n, one, len);
        n += len;
        s += used;
        if (n <= CFX_ERROR_TEXT - 4)
            cut = n;
    }
    to[n] = '\0';
}

cfx_status cfx_vfail(cfx_error *err, cfx_status code, const char *fmt,
                     va_list ap)
{
    assert(code < 0);
    if (!err || err->code)
        return code;
    char text[CFX_ERROR_TEXT + 1];
    int len = vsnprintf(text, sizeof(text), fmt, ap);
    const char *s = len < 0 ? cfx_status_name(code) : text;
    write_line(err->text, s, s + strlen(s));
    err->code = code;
    err->located = false;
    return code;
}

cfx_status cfx_fail(cfx_error *err, cfx_status code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    cfx_vfail(err, code, fmt, ap);
    va_end(ap);
    return code;
}

cfx_status cfx_no_memory(cfx_error *err)
{
    return cfx_fail(err, CFX_ENOMEM, "out of memory");
}

cfx_status cfx_fail_from(cfx_error *err, const cfx_error *cause)
{
    assert(cause->code < 0);
    if (err && !err->code) {
        strcpy(err->text, cause->text);
        err->located = cause->located;
        err->code = cause->code;
    }
    return cause->code;
}

cfx_status cfx_fail_at(cfx_error *err, const char *fmt, ...)
{
    if (!err || !err->code)
        return CFX_EINVAL;
    enum { PLACE = CFX_ERROR_TEXT / 2 };
    char text[PLACE + sizeof(": ") + CFX_ERROR_TEXT];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, PLACE, fmt, ap);
    va_end(ap);
    if (n <= 0)
        return err->code;
    strcat(strcat(text, ": "), err->text);
    write_line(err->text, text, text + strlen(text));
    return err->code;
}

const char *cfx_status_name(cfx_status code)
{
    static const char *const name[] = {
        "CFX_OK",       "CFX_ENOMEM",       "CFX_EINVAL",     "CFX_ESHAPE",
        "CFX_EDTYPE",   "CFX_ENAME",        "CFX_EPARSE",     "CFX_EIO",
        "CFX_EGRAPH",   "CFX_EUNSUPPORTED", "CFX_ELIMIT",     "CFX_ECANCEL",
        "CFX_ENUMERIC", "CFX_EUSER",        "CFX_EUNDECIDED", "CFX_EOPERATOR",
        "CFX_EWEIGHT",  "CFX_EATTR",        "CFX_EINPUT",
    };
    int i = -(int)code;
    return i >= 0 && i < (int)(sizeof(name) / sizeof(*name)) ? name[i]
                                                             : "CFX_E?";
}
