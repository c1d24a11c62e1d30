# -*- coding: utf-8 -*-
# Objects, dictionaries, recursion, strings and sorting, in Python 2.
import time
class Node(object):
    def __init__(self, k):
        self.k = k; self.left = None; self.right = None
    def insert(self, k):
        n = self
        while True:
            if k < n.k:
                if n.left is None:
                    n.left = Node(k); return
                n = n.left
            else:
                if n.right is None:
                    n.right = Node(k); return
                n = n.right
    def depth(self):
        l = self.left.depth() if self.left else 0
        r = self.right.depth() if self.right else 0
        return 1 + max(l, r)
def rnd(seed):
    while True:
        seed = (seed * 1103515245 + 12345) % 2147483648
        yield seed
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
def words(g, n):
    d = {}
    for i in range(n):
        w = 'w%d' % (next(g) % 5000)
        d[w] = d.get(w, 0) + 1
    return sorted(d.items(), key=lambda e: (-e[1], e[0]))[:5]
total = 0
for round in range(12):
    g = rnd(round)
    root = Node(next(g))
    for i in range(30000): root.insert(next(g))
    total += root.depth() + fib(22)
    total += sum(len(w) * c for w, c in words(g, 60000))
    total += len(''.join(chr(65 + next(g) % 26) for i in range(60000)).replace('AB', ''))
print(total)
