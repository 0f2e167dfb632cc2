(define (problem childsnack-2)
  (:domain childsnack)
  (:objects kid1 kid2 kid3 - child bread1 bread2 bread3 - bread jam1 jam2 jam3 - content sandwich1 sandwich2
         sandwich3 sandwich4 - sandwich tray1 - tray kitchen table1 table2 - place)
  (:init (is-kitchen kitchen) (tray-at tray1 kitchen) (bread-left bread1) (content-left jam1) (bread-left
         bread2) (content-left jam2) (bread-left bread3) (content-left jam3) (no-gluten-bread bread1)
         (no-gluten-content jam1) (unmade sandwich1) (unmade sandwich2) (unmade sandwich3) (unmade sandwich4)
         (allergic kid1) (waiting kid1 table1) (hungry kid1) (not-allergic kid2) (waiting kid2 table2) (hungry
         kid2) (not-allergic kid3) (waiting kid3 table1) (hungry kid3))
  (:goal (and (served kid1) (served kid2) (served kid3))))
