#define TWIN "a"
#include "twins.h"
