(define (problem driverlog-2)
  (:domain driverlog)
  (:objects s0 s1 s2 p01 - location ann bob - driver t1 - truck box1 box2 - package)
  (:init (at ann s2) (at bob p01) (at t1 s0) (empty t1) (at box1 s1) (at box2 s0) (road s0 s1) (road s1 s0)
         (road s1 s2) (road s2 s1) (road s0 s2) (road s2 s0) (path s0 p01) (path p01 s0) (path p01 s1) (path
         s1 p01) (path s1 s2) (path s2 s1))
  (:goal (and (at box1 s0) (at t1 s2) (at bob s1))))
