/*
 * version -- which release the library is.
 */
#include <cfx/version.h>

const char *cfx_version(void)
{
    return CFX_VERSION;
}

int cfx_version_number(void)
{
    return CFX_VERSION_NUMBER;
}
