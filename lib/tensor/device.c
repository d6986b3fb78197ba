/*
 * device -- names of devices: a type that PyTorch has, and a number.
 *
 * A label holds the type, counted from 1, above the number.
 */
#include <cfx/tensor.h>

#include <stdio.h>
#include <string.h>

#include "base/util.h"

static const char *const types[] = {
    "cpu",    "cuda", "ipu",  "xpu",  "mkldnn", "opengl",        "opencl",
    "ideep",  "hip",  "ve",   "fpga", "maia",   "xla",           "lazy",
    "vulkan", "mps",  "meta", "hpu",  "mtia",   "privateuseone",
};
enum { TYPES = sizeof(types) / sizeof(*types), MOST = 127 };

/* Decimal digits without a leading 0; false for anything else. */
static bool read_number(const char *s, unsigned *out)
{
    *out = 0;
    if (!*s || (*s == '0' && s[1]))
        return false;
    for (; *s >= '0' && *s <= '9' && *out <= MOST; s++)
        *out = 10 * *out + (unsigned)(*s - '0');
    return !*s && *out <= MOST;
}

bool cfx_device_parse(cfx_device_label *out, const char *text)
{
    size_t n = strcspn(text, ":");
    unsigned number = 0, type = 0;

    while (type < TYPES &&
           (strlen(types[type]) != n || memcmp(types[type], text, n)))
        type++;
    if (type == TYPES || (text[n] && !read_number(text + n + 1, &number)))
        return false;
    /* There is one CPU. */
    if (!type)
        number = 0;
    *out = (cfx_device_label)((type + 1) << 8 | number);
    return true;
}

static unsigned type_of(cfx_device_label device)
{
    unsigned type = device ? (device >> 8) - 1u : 0;

    return type < TYPES ? type : 0;
}

size_t cfx_device_format(cfx_device_label device, char *buf, size_t size)
{
    unsigned type = type_of(device);
    bool plain = !strcmp(types[type], "cpu") || !strcmp(types[type], "meta");
    int n = plain ? snprintf(buf, size, "%s", types[type])
                  : snprintf(buf, size, "%s:%u", types[type], device & 0xffu);

    return n < 0 ? 0 : (size_t)n;
}

bool cfx_device_is(cfx_device_label device, const char *type)
{
    return !strcmp(types[type_of(device)], type);
}
