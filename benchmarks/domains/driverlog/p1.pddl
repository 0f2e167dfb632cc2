(define (problem driverlog-1)
  (:domain driverlog)
  (:objects s0 s1 s2 - location ann - driver t1 t2 - truck box1 box2 - package)
  (:init (at ann s0) (at t1 s1) (at t2 s2) (empty t1) (empty t2) (at box1 s0) (at box2 s2) (road s0 s1) (road
         s1 s0) (road s1 s2) (road s2 s1) (path s0 s1) (path s1 s0))
  (:goal (and (at box1 s2) (at box2 s0))))
