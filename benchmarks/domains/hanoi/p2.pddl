(define (problem hanoi-4)
  (:domain hanoi)
  (:objects left middle right d1 d2 d3 d4)
  (:init (smaller left d1) (smaller left d2) (smaller left d3) (smaller left d4) (smaller middle d1) (smaller
         middle d2) (smaller middle d3) (smaller middle d4) (smaller right d1) (smaller right d2) (smaller
         right d3) (smaller right d4) (smaller d2 d1) (smaller d3 d1) (smaller d4 d1) (smaller d3 d2) (smaller
         d4 d2) (smaller d4 d3) (on d1 d2) (on d2 d3) (on d3 d4) (on d4 left) (clear d1) (clear middle) (clear
         right))
  (:goal (and (on d1 d2) (on d2 d3) (on d3 d4) (on d4 right))))
