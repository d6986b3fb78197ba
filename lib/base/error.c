/*
 * error -- error messages of one line.
 */
#include "base/util.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Replace newlines and terminal control characters, which names from a file
 * may contain, and do not cut a UTF-8 character. */
static void tidy(char *text, size_t len)
{
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < ' ' || *p == '\x7f')
            *p = *p == '\n' || *p == '\t' ? ' ' : '?';
    if (len < CFX_ERROR_TEXT)
        return;
    char *end = text + CFX_ERROR_TEXT - 4;
    while (end > text && ((unsigned char)*end & 0xC0) == 0x80)
        end--;
    memcpy(end, "...", 4);
}

cfx_status cfx_vfail(cfx_error *err, cfx_status code, const char *fmt,
                     va_list ap)
{
    assert(code < 0);
    if (!err || err->code)
        return code;
    int len = vsnprintf(err->text, sizeof(err->text), fmt, ap);
    if (len < 0)
        snprintf(err->text, sizeof(err->text), "%s", cfx_status_name(code));
    else
        tidy(err->text, (size_t)len);
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
    char place[CFX_ERROR_TEXT / 2];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(place, sizeof(place), fmt, ap);
    va_end(ap);
    if (n <= 0)
        return err->code;
    size_t at = strlen(place), len = strlen(err->text);
    size_t room = sizeof(err->text) - at - 3;
    size_t keep = len < room ? len : room;
    memmove(err->text + at + 2, err->text, keep);
    memcpy(err->text, place, at);
    memcpy(err->text + at, ": ", 2);
    err->text[at + 2 + keep] = '\0';
    tidy(err->text, at + 2 + len);
    return err->code;
}

const char *cfx_status_name(cfx_status code)
{
    static const char *const name[] = {
        "CFX_OK",       "CFX_ENOMEM",       "CFX_EINVAL",     "CFX_ESHAPE",
        "CFX_EDTYPE",   "CFX_ENAME",        "CFX_EPARSE",     "CFX_EIO",
        "CFX_EGRAPH",   "CFX_EUNSUPPORTED", "CFX_ELIMIT",     "CFX_ECANCEL",
        "CFX_ENUMERIC", "CFX_EUSER",        "CFX_EUNDECIDED", "CFX_EOPERATOR",
        "CFX_EWEIGHT",  "CFX_EATTR",
    };
    int i = -(int)code;
    return i >= 0 && i < (int)(sizeof(name) / sizeof(*name)) ? name[i]
                                                             : "CFX_E?";
}
