KERNELS = []
def missing(i): return None
