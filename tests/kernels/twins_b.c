#define TWIN "b"
#include "twins.h"
